"""The stages of tools/bench/gpu_report.py."""
