import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startWebhook } from './service.ts'

await runService(async () => startWebhook(readConfig(process.env)))
