#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a file as numbers that C includes, in two parts, cut at @DATA@.

usage: embed.py FILE BEFORE.inc BEHIND.inc
"""
import sys

if len(sys.argv) != 4:
    sys.exit(__doc__)
with open(sys.argv[1], "rb") as f:
    parts = f.read().split(b"@DATA@")
if len(parts) != 2:
    sys.exit(f"{sys.argv[1]}: @DATA@ must stand in it once")
for part, name in zip(parts, sys.argv[2:]):
    with open(name, "w", encoding="ascii") as out:
        out.write(",".join(f"(char){b}" for b in part) + "\n")
