#!/usr/bin/env node
import { addAdmin } from './commands/admin.ts'
import { runProcess } from './run-process.ts'

await runProcess([addAdmin])
