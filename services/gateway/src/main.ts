import { runService } from '@svc/service/run-service.ts'
import { readConfig } from './config.ts'
import { startGateway } from './service.ts'

await runService(() => startGateway(readConfig(process.env)))
