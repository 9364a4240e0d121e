// Plays a game with the client that openapi-generator (typescript-fetch) makes of the spec.

import { AuditsApi, Configuration, GamesApi, LogRequestFromJSON, LogToJSON, ProblemFromJSON, ResponseError } from "./client/index.js";
import type { Game, MoveRequest } from "./client/index.js";

const basePath = process.argv[2]!;
const deal = { kind: "pysol", number: "24" } as const;
const { token, ...dealt } = await new GamesApi(new Configuration({ basePath })).createGame({ gameRequest: { deal } });
const configuration = new Configuration({ basePath, accessToken: token });
const games = new GamesApi(configuration);

async function move(move: MoveRequest): Promise<Game> {
  return (await games.makeMoves({ gameId: dealt.id, movesRequest: { moves: [move] } })).game;
}

let game: Game = dealt;
let moves = 0;
for (; game.legalMoves.length > 0; moves++) {
  const { type, cells } = game.legalMoves[0]!;
  game = await move({ type, cells });
}
if (game.status === "blocked") game = await move({ type: "resign" });
const refused = await move({ type: "undo" }).catch(async (error: unknown) => {
  if (error instanceof ResponseError) return ProblemFromJSON(await error.response.json());
  throw error;
});
const log = LogRequestFromJSON(LogToJSON(await games.getLog({ gameId: game.id })));
const { valid } = await new AuditsApi(configuration).auditLog({ logRequest: log });
console.log(`${game.status} after ${moves} moves, ${"code" in refused ? refused.code : "not refused"}, ${valid ? "valid" : "not valid"}`);
