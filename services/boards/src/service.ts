/**
 * Owns: boards and memberships, and so who may read, post, vote and moderate (schema `boards`).
 * Scale: any number of processes. They share calls by queue group, and no state is kept between calls.
 * Limit: one Postgres primary. All but creation and lists can be sharded by board. Pool size x processes must stay
 * below max_connections.
 */
import { auditEndpoint, eraseEndpoint } from '@svc/audit/audit.ts'
import { booksEndpoints } from '@svc/charging/books.ts'
import { createCharging } from '@svc/charging/charging.ts'
import { createOperations } from '@svc/charging/operations.ts'
import { startOperationsPurge } from '@svc/charging/purge.ts'
import { startResolver } from '@svc/charging/resolver.ts'
import { restoreBoard, takedownBoard as takedownBoardCall } from '@svc/contracts/admin.ts'
import * as calls from '@svc/contracts/boards.ts'
import { handle } from '@svc/nats/serve.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import type { BoardsConfig } from './config.ts'
import type { BoardsDeps } from './deps.ts'
import { createBoard } from './handlers/create-board.ts'
import { getBoard } from './handlers/get-board.ts'
import { judgeAccess } from './handlers/judge-access.ts'
import { judgeBoards } from './handlers/judge-boards.ts'
import { listBoards } from './handlers/list-boards.ts'
import { listMembers } from './handlers/list-members.ts'
import { listSubscribers } from './handlers/list-subscribers.ts'
import { noteBlock } from './handlers/note-block.ts'
import { setMember } from './handlers/set-member.ts'
import { takedownBoard } from './handlers/takedown-board.ts'
import { createFindAccess } from './store/access.ts'
import { eraseAgent } from './store/erase.ts'

export function startBoards(config: BoardsConfig): Promise<RunningService> {
  return startService({
    name: 'boards',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    build: ({ logger, database, bus }) => {
      const operations = createOperations({ database, schema: 'boards' })
      const deps: BoardsDeps = {
        database,
        operations,
        charging: createCharging({ owner: 'boards', bus, logger, fences: operations }),
        findAccess: createFindAccess(database),
      }
      return {
        endpoints: [
          handle(calls.createBoard, (request, context) => createBoard(deps, request, context)),
          handle(calls.listBoards, (request) => listBoards(deps, request)),
          handle(calls.getBoard, (request) => getBoard(deps, request)),
          handle(calls.listMembers, (request) => listMembers(deps, request)),
          handle(calls.setMember, (request, context) => setMember(deps, request, context)),
          handle(calls.noteBlock, (request) => noteBlock(deps, request)),
          handle(calls.judgeAccess, (request) => judgeAccess(deps, request)),
          handle(calls.judgeBoards, (request) => judgeBoards(deps, request)),
          handle(calls.listSubscribers, (request) => listSubscribers(deps, request)),
          handle(takedownBoardCall, (request, context) => takedownBoard(deps, request, context, true)),
          handle(restoreBoard, (request, context) => takedownBoard(deps, request, context, false)),
          ...booksEndpoints({ owner: 'boards', database }),
          auditEndpoint('boards', database),
          eraseEndpoint('boards', database, eraseAgent),
        ],
        loops: [
          startResolver({ owner: 'boards', bus, logger, fences: operations }),
          startOperationsPurge({ owner: 'boards', bus, logger, operations }),
        ],
      }
    },
  })
}
