"""Plays a game with the client that openapi-generator makes of the spec."""

import sys

from montecarlo_client import (
    ApiClient,
    ApiException,
    AuditsApi,
    CellRequest,
    Configuration,
    DealKind,
    GameDealRequest,
    GameRequest,
    GamesApi,
    LogRequest,
    MoveRequest,
    MovesRequest,
    MoveType,
    Problem,
    Status,
)


def play(server: str) -> str:
    """Take the first legal move until there is none, resign, and have the log audited."""
    configuration = Configuration(host=server)
    with ApiClient(configuration) as client:
        games, audits = GamesApi(client), AuditsApi(client)
        game = games.create_game(GameRequest(deal=GameDealRequest(kind=DealKind.PYSOL, number="24")))
        configuration.access_token = game.token
        moves, position = 0, games.get_game(game.id)
        while position.legal_moves:
            first = position.legal_moves[0]
            cells = [CellRequest(row=cell.row, column=cell.column) for cell in first.cells]
            move = MoveRequest(type=first.type, cells=cells)
            position = games.make_moves(game.id, MovesRequest(moves=[move])).game
            moves += 1
        if position.status == Status.BLOCKED:
            position = games.make_moves(game.id, MovesRequest(moves=[MoveRequest(type=MoveType.RESIGN)])).game
        refused = None
        try:
            games.make_moves(game.id, MovesRequest(moves=[MoveRequest(type=MoveType.UNDO)]))
        except ApiException as error:
            refused = Problem.from_json(error.body or "")
        # As it came: a class knows no field that is null from one that is not there, and a hash does.
        log = LogRequest.from_json(games.get_log_without_preload_content(game.id).data.decode())
        assert log
        verdict = audits.audit_log(log)
        return f"{position.status.value} after {moves} moves, {refused and refused.code}, {'valid' if verdict.valid else 'not valid'}"


if __name__ == "__main__":
    print(play(sys.argv[1]))
