import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startBoards } from './service.ts'

await runService(async () => startBoards(readConfig(process.env)))
