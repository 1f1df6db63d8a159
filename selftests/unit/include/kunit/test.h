/* SPDX-License-Identifier: GPL-2.0 */
#include "../../kunit_shim.h"
