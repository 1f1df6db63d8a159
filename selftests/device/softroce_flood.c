// SPDX-License-Identifier: GPL-2.0
/*
 * Sends the packets of a file over and over, as fast as it can: for
 * softroce.sh.  softroce_flood FILE FROM TO; in the file each packet has its
 * length before it, 4 bytes, little-endian.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { ROCE_PORT = 4791, PACKETS = 64, SIZE = 1024 };

static struct packet {
	uint32_t len;
	unsigned char bytes[SIZE];
} packets[PACKETS];

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(ROCE_PORT),
	};

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1) {
		fprintf(stderr, "softroce_flood: %s is no IPv4 address\n", text);
		exit(2);
	}
	return a;
}

int main(int argc, char **argv)
{
	struct sockaddr_in from, to;
	int discover = 2;	/* IP_PMTUDISC_DO: the CRC covers that flag */
	unsigned int n, i;
	FILE *f;
	int s;

	if (argc != 4) {
		fprintf(stderr, "usage: softroce_flood FILE FROM TO\n");
		return 2;
	}
	from = address(argv[2]);
	to = address(argv[3]);
	f = fopen(argv[1], "r");
	if (!f) {
		perror(argv[1]);
		return 1;
	}
	for (n = 0; n < PACKETS; n++) {
		struct packet *p = &packets[n];

		if (fread(&p->len, sizeof(p->len), 1, f) != 1 || p->len > SIZE ||
		    fread(p->bytes, p->len, 1, f) != 1)
			break;
	}
	fclose(f);
	s = socket(AF_INET, SOCK_DGRAM, 0);
	if (!n || s < 0 ||
	    setsockopt(s, IPPROTO_IP, 10, &discover, sizeof(discover)) ||
	    bind(s, (struct sockaddr *)&from, sizeof(from))) {
		perror("softroce_flood");
		return 1;
	}
	for (i = 0; ; i = (i + 1) % n)
		sendto(s, packets[i].bytes, packets[i].len, 0,
		       (struct sockaddr *)&to, sizeof(to));
}
