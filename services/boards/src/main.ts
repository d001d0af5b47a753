import { runService } from '@svc/config/run-service.ts'
import { readConfig } from './config.ts'
import { startBoards } from './service.ts'

await runService(async () => startBoards(readConfig(process.env)))
