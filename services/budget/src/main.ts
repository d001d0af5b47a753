import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startBudget } from './service.ts'

await runService(async () => startBudget(readConfig(process.env)))
