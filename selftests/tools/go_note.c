// SPDX-License-Identifier: GPL-2.0
/* A program with the note that the Go linker leaves in its own (see Makefile). */
__asm__(".pushsection .note.go.buildid, \"a\", %note\n"
	".4byte 4, 8, 4\n"
	".ascii \"Go\\0\\0\"\n"
	".ascii \"build-id\"\n"
	".popsection\n");

int main(void)
{
	return 0;
}
