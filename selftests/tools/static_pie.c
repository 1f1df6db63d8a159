// SPDX-License-Identifier: GPL-2.0
/* A program of a kind that the launcher has to know (see Makefile). */
int main(void)
{
	return 0;
}
