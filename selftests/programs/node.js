// SPDX-License-Identifier: GPL-2.0
// node.js serve PORT: sends each body back, with its length unknown before.
// node.js ask HOST PORT REQUESTS AT-ONCE: bodies of all sizes, half of them on
// connections that are kept; each is compared.  Prints the bytes moved.
'use strict';
const http = require('http');
const crypto = require('crypto');
const [role, ...args] = process.argv.slice(2);

function serve(port) {
	const server = http.createServer((req, res) => req.pipe(res));

	// A connection that it closes because it was idle would be one that the
	// client may just use again: a reset, with TCP too.
	server.keepAliveTimeout = 0;
	server.headersTimeout = 0;
	server.requestTimeout = 0;
	server.listen(port, '::');
	process.on('SIGTERM', () => process.exit(0));
}

function ask(host, port, requests, atOnce) {
	const sizes = [0, 1, 1000, 1459, 16384, 65537, 300000, 2000000];
	const kept = new http.Agent({ keepAlive: true, maxSockets: atOnce });
	let started = 0, done = 0, moved = 0;

	function fail(n, what) {
		console.error(`request ${n}: ${what}`);
		process.exit(1);
	}

	function one() {
		const n = started++;

		if (n >= requests)
			return;
		const body = crypto.randomBytes(sizes[n % sizes.length]);
		const agent = n % 2 ? kept : false;
		const req = http.request({ host, port, agent, method: 'POST' }, (res) => {
			const got = [];

			res.on('data', (d) => got.push(d));
			res.on('end', () => {
				if (res.statusCode !== 200 || !Buffer.concat(got).equals(body))
					fail(n, `status ${res.statusCode}, another body`);
				moved += 2 * body.length;
				if (++done === requests) {
					kept.destroy();
					console.log(moved);
				}
				one();
			});
			res.on('error', (e) => fail(n, e));
		});
		req.on('error', (e) => fail(n, e));
		// In pieces: the loop has other things to do between.
		for (let at = 0; at < body.length; at += 50000)
			req.write(body.subarray(at, at + 50000));
		req.end();
	}

	for (let i = 0; i < atOnce; i++)
		one();
}

if (role === 'serve')
	serve(Number(args[0]));
else
	ask(args[0], Number(args[1]), Number(args[2]), Number(args[3]));
