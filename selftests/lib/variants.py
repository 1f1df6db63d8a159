# SPDX-License-Identifier: GPL-2.0
"""The variants of a case, by their names: variants.def."""
import os
import re

with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), 'variants.def'),
          encoding='ascii') as f:
    VARIANTS = [f'{word}-v{ip}' for word, ip in
                re.findall(r'^VARIANT\(\w+, (\w+), ([46])\)$', f.read(), re.M)]
