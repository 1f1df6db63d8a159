/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SDP_EXPLAIN_H
#define _SDP_EXPLAIN_H

/**
 * check_config() - sdp_run --check-config
 * @path: NULL for the file that programs would read
 *
 * Return: exit status: 0, 1 if there are errors, 125 if it cannot be read.
 */
int check_config(const char *path);

/**
 * explain() - sdp_run --explain
 * @args: of the command line, behind the option; NULL at their end
 *
 * Return: exit status.
 */
int explain(char *const *args);

#endif
