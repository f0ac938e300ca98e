# SPDX-License-Identifier: Apache-2.0
"""Programs and their surroundings: in a build, in a bundle, under profilers."""
import glob
import os
import shutil
import signal
import site
import subprocess
import sysconfig

LATE = 124  # the exit code of a program that ran out of time
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(BENCH)  # of a bundle, or of the sources


def find_programs():
    """The program, the folder of the test programs, the folder of the configurations."""
    bundled = os.path.join(ROOT, "bin")
    if os.path.exists(os.path.join(bundled, "lockstep")):
        return os.path.join(bundled, "lockstep"), bundled, os.path.join(ROOT, "configs")
    build = os.path.join(ROOT, "build", "release")
    return os.path.join(build, "lockstep"), os.path.join(build, "tests"), os.path.join(ROOT, "configs")


def environment(**variables):
    """Adds CUDA's libraries of Python packages to the library path."""
    packages = (sysconfig.get_path("purelib"), site.getusersitepackages())
    brought = sorted(path for folder in packages for path in glob.glob(os.path.join(folder, "nvidia", "*", "lib")))
    folders = brought + [os.environ.get("LD_LIBRARY_PATH", "")]
    path = ":".join(folder for folder in folders if folder)
    return dict(os.environ) | {"LD_LIBRARY_PATH": path} | variables


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment(),
                              timeout=120).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def tool(name):
    """A program of CUDA's toolkit, or None."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def run_group(command, file, seconds, variables):
    """Profilers start the program as a child process, so the whole group is killed."""
    process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=variables,
                               start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return LATE
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run_logged(command, log, seconds, **variables):
    """The exit code, LATE if the time was over, and the program's output."""
    with open(log, "w", encoding="utf-8") as file:
        try:
            code = run_group(command, file, max(1, seconds), environment(**variables))
        except OSError as error:
            file.write(f"{command[0]}: {error.strerror}\n")
            code = 127
    with open(log, encoding="utf-8", errors="replace") as file:
        return code, file.read()
