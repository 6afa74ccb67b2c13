// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A client of an HTTP server that computes a key on its event loop.
const children = require('child_process');
const crypto = require('crypto');
const http = require('http');

const ROUNDS = 800000;

function get(port, path) {
	const agent = new http.Agent({keepAlive: false});

	return new Promise((done) => http.get({host: '127.0.0.1', port, path, agent}, (answer) => {
		answer.resume();
		answer.on('end', done);
	}));
}

async function ask(port) {
	process.title = 'nclient';
	await get(port, '/ping');
	const login = get(port, '/login');
	await new Promise((done) => setTimeout(done, 60));
	const begin = process.hrtime.bigint();
	await get(port, '/ping');
	const end = process.hrtime.bigint();
	console.log(`{"comm": "nclient", "from": ${begin}, "to": ${end}}`);
	await login;
	process.exit(0);
}

function serve() {
	const server = http.createServer((question, answer) => {
		if (question.url === '/login')
			crypto.pbkdf2Sync('password', 'salt', ROUNDS, 64, 'sha512');
		answer.end('ok');
	});

	server.listen(0, '127.0.0.1', () => {
		const client = children.spawn(process.execPath, [__filename, String(server.address().port)],
			{stdio: 'inherit'});

		client.on('exit', () => process.exit(0));
	});
}

if (/^\d+$/.test(process.argv[2]))
	ask(process.argv[2]);
else
	serve();
