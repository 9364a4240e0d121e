// Plays a game with openapi-fetch and the types that openapi-typescript makes of the spec.

import createClient from "openapi-fetch";
import type { components, paths } from "./client.js";

type Game = components["schemas"]["Game"];
type Move = components["schemas"]["MoveRequest"];

const client = createClient<paths>({ baseUrl: process.argv[2]! });
const dealt = await client.POST("/v1/games", { body: { deal: { kind: "pysol", number: "24" } } });
if (!dealt.data) throw new Error(dealt.error.code);
const { token, ...rest } = dealt.data;
const params = { path: { game_id: rest.id } };
const headers = { Authorization: `Bearer ${token}` };

async function move(move: Move) {
  const { data, error } = await client.POST("/v1/games/{game_id}/moves", { params, headers, body: { moves: [move] } });
  // Without `validate_only` and `Prefer` it is the whole game.
  return { game: data && "game" in data ? data.game : undefined, error };
}

let game: Game = rest;
let moves = 0;
for (; game.legal_moves.length > 0; moves++) {
  const { type, cells } = game.legal_moves[0]!;
  const moved = await move({ type, cells });
  if (!moved.game) throw new Error(moved.error?.code);
  game = moved.game;
}
if (game.status === "blocked") game = (await move({ type: "resign" })).game ?? game;
const refused = await move({ type: "undo" });
const log = await client.GET("/v1/games/{game_id}/log", { params, headers });
if (!log.data) throw new Error(log.error?.code);
const verdict = await client.POST("/v1/audits", { body: log.data });
console.log(`${game.status} after ${moves} moves, ${refused.error?.code}, ${verdict.data?.valid ? "valid" : "not valid"}`);
