import { runService } from '@svc/config/run-service.ts'
import { readConfig } from './config.ts'
import { startGateway } from './service.ts'

await runService(() => startGateway(readConfig(process.env)))
