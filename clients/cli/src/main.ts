#!/usr/bin/env node
import { addAdmin } from './commands/admin/admin.ts'
import { runProcess } from './run-process.ts'

await runProcess([addAdmin])
