"""Plays a game with the client that openapi-python-client makes of the spec."""

import sys

from montecarlo_client import AuthenticatedClient, Client
from montecarlo_client.api.audits import audit_log
from montecarlo_client.api.games import create_game, get_log, make_moves
from montecarlo_client.models import (
    Audit,
    CellRequest,
    DealKind,
    GameDealRequest,
    GameRequest,
    Log,
    LogRequest,
    MoveRequest,
    Moves,
    MovesRequest,
    MoveType,
    NewGame,
    Outcome,
    Problem,
    Status,
)


def play(server: str) -> str:
    """Take the first legal move until there is none, resign, and have the log audited."""
    deal = GameDealRequest(kind=DealKind.PYSOL, number="24")
    game = create_game.sync(client=Client(server), body=GameRequest(deal=deal))
    assert isinstance(game, NewGame)
    client = AuthenticatedClient(server, game.token)

    def move(kind: MoveType, *cells: CellRequest) -> Moves | Outcome | Problem | None:
        request = MoveRequest(type_=kind, cells=list(cells))
        return make_moves.sync(game.id, client=client, body=MovesRequest(moves=[request]))

    moves, status, legal = 0, game.status, game.legal_moves
    while legal:
        cells = [CellRequest(row=cell.row, column=cell.column) for cell in legal[0].cells]
        answer = move(legal[0].type_, *cells)
        assert isinstance(answer, Moves)
        moves, status, legal = moves + 1, answer.game.status, answer.game.legal_moves
    if status == Status.BLOCKED:
        answer = move(MoveType.RESIGN)
        assert isinstance(answer, Moves)
        status = answer.game.status
    refused = move(MoveType.UNDO)
    assert isinstance(refused, Problem)
    log = get_log.sync(game.id, client=client)
    assert isinstance(log, Log)
    verdict = audit_log.sync(client=client, body=LogRequest.from_dict(log.to_dict()))
    assert isinstance(verdict, Audit)
    return f"{status.value} after {moves} moves, {refused.code}, {'valid' if verdict.valid else 'not valid'}"


if __name__ == "__main__":
    print(play(sys.argv[1]))
