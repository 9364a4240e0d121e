'use strict';
// boardgame.io's server, games in memory, or in files where a folder is given: node server.js PORT [FOLDER]

const { FlatFile, Server } = require('boardgame.io/server');

const [port, folder] = process.argv.slice(2);
const db = folder && new FlatFile({ dir: folder }); // its default is memory
const server = Server({ games: [require('./game')], db, origins: ['http://127.0.0.1'] });
// What is given as `port` goes to `listen` of node, which takes an address as well.
server.run({ port: { port: Number(port), host: '127.0.0.1' } }).then(({ appServer }) => {
  appServer.keepAliveTimeout = 0; // players come back for their next game on the connection they have
});
process.on('SIGTERM', () => process.exit());
