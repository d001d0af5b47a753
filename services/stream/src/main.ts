import { runService } from '@svc/config/run-service.ts'
import { readConfig } from './config.ts'
import { startStream } from './service.ts'

await runService(async () => startStream(readConfig(process.env)))
