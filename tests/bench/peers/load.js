'use strict';
// Players that play one game after another, each on a connection of its own: node load.js SYSTEM PORT PLAYERS SECONDS
// Prints moves a second, creation of games included, and the percentiles of the milliseconds that a request took.

const assert = require('assert');
const net = require('net');
const { SIDE, wave } = require('./rules');

const [system, port, players, seconds] = process.argv.slice(2);
const WARM_UP = 1; // seconds
const FLOOR_GAME = 24; // moves, about as many as a game takes

let measuring = false;
let moves = 0;
const times = [];

function made(start, count) {
  if (!measuring) return;
  times.push(performance.now() - start);
  moves += count;
}

// A kept-alive HTTP connection on a plain socket: node's own client would take the server's share of the processor.
class Connection {
  constructor() {
    this.socket = net.connect({ host: '127.0.0.1', port: Number(port), noDelay: true }).setEncoding('latin1');
    this.heard = '';
    this.socket.on('data', (data) => {
      this.heard += data;
      this.read();
    });
    this.socket.on('close', () => this.fail?.(new Error('the server hung up')));
    this.socket.on('error', (error) => this.fail?.(error));
  }

  read() {
    const end = this.heard.indexOf('\r\n\r\n') + 4;
    if (end < 4) return;
    const head = this.heard.slice(0, end);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)[1]);
    if (this.heard.length < end + length) return;
    const body = this.heard.slice(end);
    this.heard = '';
    if (/^HTTP\/1.1 20[01] /.test(head)) this.answer(JSON.parse(body));
    else this.fail(new Error(head + body));
  }

  post(path, body, headers = '') {
    const text = JSON.stringify(body);
    headers += `Host: bench\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
    this.socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n${text}`);
    return new Promise((answer, fail) => Object.assign(this, { answer, fail }));
  }
}

async function boardgame() {
  const { io } = require('socket.io-client');
  const lobby = new Connection();
  const socket = io(`http://127.0.0.1:${port}/monte-carlo`, { transports: ['websocket'], forceNew: true });
  let heard;
  socket.on('sync', (match, { state }) => heard(state));
  socket.on('update', (match, state) => heard(state));
  const ask = (...message) => {
    socket.emit(...message);
    return new Promise((answer) => (heard = answer));
  };
  for (;;) {
    const { matchID } = await lobby.post('/games/monte-carlo/create', { numPlayers: 1 });
    const join = { playerID: '0', playerName: 'bench' };
    const { playerCredentials: credentials } = await lobby.post(`/games/monte-carlo/${matchID}/join`, join);
    let state = await ask('sync', matchID, '0', credentials, 1);
    for (let move; (move = wave(state.G.grid, state.G.stock).next().value); ) {
      const payload = { type: move.type, args: move.cells, playerID: '0', credentials };
      const version = state._stateID;
      const start = performance.now();
      state = await ask('update', { type: 'MAKE_MOVE', payload }, version, matchID, '0');
      made(start, 1);
      assert.equal(state._stateID, version + 1);
      assert(move.cells.every((cell) => state.G.grid[cell] === null));
    }
    assert(state.ctx.gameover);
  }
}

const sent = ({ type, cells }) => ({
  type,
  cells: cells.map((cell) => ({ row: Math.trunc(cell / SIDE) + 1, column: (cell % SIDE) + 1 })),
});

// `requests` says in which requests a wave is sent. The last answer before the next wave is read whole; those before
// it are asked to be short, since a player knows what a removal does.
async function service(requests) {
  const connection = new Connection();
  for (;;) {
    let game = await connection.post('/v1/games', {});
    const path = `/v1/games/${game.id}/moves`;
    const token = `Authorization: Bearer ${game.token}\r\n`;
    while (game.legal_moves.length) {
      const plan = Array.from(wave(game.grid.flat(), game.stock), sent);
      const { type, cells } = game.legal_moves[0];
      assert.deepEqual(plan[0], { type, cells }); // the service says the same of the rules
      const batches = requests(plan);
      for (const [place, batch] of batches.entries()) {
        const short = place < batches.length - 1;
        const start = performance.now();
        const answer = await connection.post(path, { moves: batch }, short ? `${token}Prefer: return=minimal\r\n` : token);
        made(start, batch.length);
        if (short) assert.equal(answer.status, 'playing');
        else game = answer.game;
      }
    }
    assert.notEqual(game.status, 'playing');
  }
}

async function floor() {
  const connection = new Connection();
  const move = { type: 'remove', cells: [{ row: 1, column: 2 }, { row: 2, column: 2 }] };
  const state = { grid: Array(5).fill('4C5HQC5D2D7HAH7S2CQH'), legal_moves: Array(25).fill(move) };
  for (;;) {
    const { id } = await connection.post('/games', state);
    for (let sentMoves = 0; sentMoves < FLOOR_GAME; sentMoves++) {
      const start = performance.now();
      await connection.post(`/games/${id}/moves`, { moves: [move] });
      made(start, 1);
    }
  }
}

const PLAYERS = {
  boardgame,
  floor,
  single: () => service((plan) => [plan.slice(0, 1)]),
  minimal: () => service((plan) => plan.map((move) => [move])),
  wave: () => service((plan) => [plan]),
};

async function main() {
  const { setTimeout: wait } = require('timers/promises');
  for (let player = 0; player < Number(players); player++) PLAYERS[system]();
  await wait(WARM_UP * 1000);
  const start = performance.now();
  measuring = true;
  await wait(Number(seconds) * 1000);
  const rate = moves / ((performance.now() - start) / 1000);
  times.sort((a, b) => a - b);
  const percentile = (share) => times[Math.floor(share * times.length)];
  console.log(JSON.stringify({ rate, p50: percentile(0.5), p99: percentile(0.99) }));
  process.exit();
}

main();
