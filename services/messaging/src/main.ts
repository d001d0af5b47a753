import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startMessaging } from './service.ts'

await runService(async () => startMessaging(readConfig(process.env)))
