import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startIdentity } from './service.ts'

await runService(async () => startIdentity(readConfig(process.env)))
