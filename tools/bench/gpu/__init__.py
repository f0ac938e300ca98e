# SPDX-License-Identifier: Apache-2.0
"""The stages of tools/bench/gpu_report.py."""
