// SPDX-License-Identifier: Apache-2.0
#include "app/report/style.h"

namespace lockstep {

const char* const kReportStyle = R"(
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5c6b7a; --page: #f6f7f9; --card: #fff;
  --edge: #dfe4ea; --shade: rgba(30, 60, 90, .08); --blue: #2463b4; --orange: #c96f12;
  --green: #2f8a4e; --purple: #7a4bb0; --teal: #0e7c86; --rose: #b8336a; --bad: #c22f2f;
  --right-rgb: 36, 99, 180; --bad-rgb: 217, 80, 43; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #9aa8b6; --page: #14191f;
  --card: #1d242c; --edge: #333d48; --shade: rgba(220, 235, 250, .1); --blue: #6ba5ef;
  --orange: #f0a04b; --green: #63c284; --purple: #b791e6; --teal: #4cc3cd;
  --rose: #f48fb1; --bad: #ff7f76;
  --right-rgb: 90, 150, 235; --bad-rgb: 240, 105, 70; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0;
  overflow-wrap: anywhere; }
main { max-width: 1240px; margin: 0 auto; padding: 24px clamp(12px, 3vw, 28px) 56px; }
h1 { font-size: 25px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 32px 0 6px; }
p { margin: 0 0 10px; color: var(--soft); }
p.state { font-size: 16px; color: var(--ink); margin-bottom: 14px; }
p.failed { color: var(--bad); }
progress { width: 100%; height: 10px; accent-color: var(--blue); margin-bottom: 14px; }
.facts { display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); }
.fact, .chart, table { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
.fact { padding: 8px 12px; }
.fact b { display: block; font-size: 20px; }
.fact span { color: var(--soft); font-size: 13px; }
.charts { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.chart { margin: 0; padding: 10px 16px 12px; }
.chart figcaption { display: flex; flex-wrap: wrap; column-gap: 14px; min-height: 46px; }
.chart output { width: 100%; color: var(--soft); font-size: 13px; min-height: 20px; }
.legend { color: var(--soft); font-size: 13px; margin-left: auto; }
.legend i { display: inline-block; width: 12px; height: 4px; border-radius: 2px; margin: 3px 5px 3px 8px; }
.plot { position: relative; height: 220px; margin: 8px 6px 38px 44px; font-size: 12px;
  color: var(--soft); }
.plot svg { width: 100%; height: 100%; display: block; overflow: visible; }
.plot .none { text-align: center; padding-top: 90px; }
.grid { stroke: var(--edge); vector-effect: non-scaling-stroke; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round;
  vector-effect: non-scaling-stroke; stroke: var(--hue); }
.dots { stroke-width: 7; }
.line.dashed { stroke-dasharray: 7 5; } .line.dotted { stroke-dasharray: 2 4; }
.legend i.dashed { background: repeating-linear-gradient(90deg, var(--hue) 0 4px, transparent 4px 6px); }
.legend i.dotted { background: repeating-linear-gradient(90deg, var(--hue) 0 2px, transparent 2px 4px); }
.reading rect { fill: transparent; } .reading rect:hover { fill: var(--shade); }
.blue { --hue: var(--blue); } .orange { --hue: var(--orange); }
.green { --hue: var(--green); } .purple { --hue: var(--purple); }
.teal { --hue: var(--teal); } .rose { --hue: var(--rose); }
.line.dashed { stroke-dasharray: 8 7; } .line.dotted { stroke-dasharray: 2 6; }
.line.dots { stroke-dasharray: none; }
.legend i { background: var(--hue); }
.legend .dashed { background: repeating-linear-gradient(90deg, var(--hue) 0 5px, transparent 5px 7px); }
.legend .dotted { background: repeating-linear-gradient(90deg, var(--hue) 0 2px, transparent 2px 5px); }
.y, .x { position: absolute; white-space: nowrap; line-height: 1; }
.y { right: calc(100% + 7px); transform: translateY(-50%); }
.x { top: calc(100% + 7px); transform: translateX(-50%); }
.x.name { left: 50%; top: calc(100% + 25px); }
.samples { display: grid; gap: 12px 8px; grid-template-columns: repeat(auto-fill, minmax(84px, 1fr)); }
.samples figure { margin: 0; font-size: 13px; line-height: 1.3; min-width: 0; text-align: center; }
.samples img { width: 72px; height: 72px; object-fit: contain; image-rendering: pixelated;
  border-radius: 5px; border: 2px solid var(--edge); }
.samples figcaption { color: var(--soft); }
.samples figcaption span { display: block; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.samples b { color: var(--ink); }
.samples .wrong img { border-color: var(--bad); } .wrong b { color: var(--bad); }
.scenes { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)); }
.mistakes { display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 168px), 1fr)); }
.scenes figure, .mistakes figure { margin: 0; font-size: 13px; line-height: 1.35; min-width: 0; }
.scenes div { display: grid; grid-template-columns: 1fr 1fr; gap: 6px; }
.scenes img, .mistakes img { width: 100%; display: block; border-radius: 5px; }
.mistakes img { height: 168px; object-fit: contain; background: var(--shade); }
.scenes figcaption { display: grid; grid-template-columns: 1fr 1fr; gap: 0 6px; color: var(--soft); }
.scenes.three div, .scenes.three figcaption { grid-template-columns: 1fr 1fr 1fr; }
.mistakes figcaption span { display: block; color: var(--soft); }
.film { display: grid; gap: 10px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 210px), 1fr)); }
.film .moving { grid-column: 1 / -1; max-width: 520px; }
.film figure { margin: 0; font-size: 13px; color: var(--soft); background: var(--card);
  border: 1px solid var(--edge); border-radius: 8px; padding: 6px 8px; }
.film svg { width: 100%; display: block; }
.planned { width: 100%; display: block; }
.scores tr + tr > * { border-top: 1px solid var(--edge); }
.bars.scores tr:first-child td { color: var(--soft); }
.bars.scores tr + tr td:last-child { color: inherit; } .scores th { white-space: nowrap; }
.compared td, .compared th { min-width: 96px; vertical-align: top; }
.compared .bar { width: auto; margin-top: 3px; } .compared .legend { margin: 0; }
.pair { display: grid; gap: 0 24px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
table { border-collapse: separate; border-spacing: 0; font-size: 14px;
  font-variant-numeric: tabular-nums; }
td, th { padding: 4px 10px; text-align: right; font-weight: inherit; }
.bars, .said { width: 100%; }
.bars th, .said th, .said td { text-align: left; }
.bars th span, .said th { color: var(--soft); }
.bars td { white-space: nowrap; } .bars td:last-child { color: var(--soft); }
.bar { width: 30%; min-width: 50px; }
.bar i { display: block; height: 9px; min-width: 2px; border-radius: 3px; background: var(--blue); }
.bar.bad i { background: var(--bad); }
.said th { width: 1%; white-space: nowrap; vertical-align: top; }
.said tr + tr > * { border-top: 1px solid var(--edge); }
.settings td { font-family: ui-monospace, monospace; font-size: 13px; }
.wide { overflow-x: auto; }
.written { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; margin: 0;
  padding: 10px 14px; white-space: pre-wrap; font-size: 13px; line-height: 1.4; }
.confusion td, .confusion th { padding: 3px 6px; min-width: 34px; }
.confusion th span { display: inline-block; max-width: 84px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; vertical-align: bottom; color: var(--soft); }
.confusion .right { background: rgba(var(--right-rgb), calc(var(--share) * .38)); }
.confusion .bad { background: rgba(var(--bad-rgb), calc(var(--share) * .75)); }
@media (max-width: 520px) { h1 { font-size: 21px; } .fact b { font-size: 17px; }
  .facts { grid-template-columns: 1fr 1fr; } .chart { padding: 8px 8px 10px; }
  .chart .legend { margin-left: 0; } td, th { padding: 4px 6px; } .bar { width: 22%; }
  .said, .bars { font-size: 13px; } .said th { white-space: normal; width: 34%; }
  .settings .said th { width: 52%; }
  .confusion td, .confusion th { padding: 2px 3px; min-width: 28px; font-size: 12px; }
  .confusion th span { max-width: 56px; } }
)";

const char* const kReportScript = R"(
for (const chart of document.querySelectorAll('.chart')) {
  const said = chart.querySelector('output');
  for (const strip of chart.querySelectorAll('rect')) {
    const title = strip.querySelector('title');
    strip.onpointerenter = () => { said.textContent = title.textContent.replace(/\n/g, ' · '); };
    strip.onpointerleave = () => { said.textContent = ''; };
  }
}
)";

}  // namespace lockstep
