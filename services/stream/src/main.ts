import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startStream } from './service.ts'

await runService(async () => startStream(readConfig(process.env)))
