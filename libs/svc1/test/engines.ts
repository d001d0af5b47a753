import sodium from 'sodium-native'
import { createSodiumEngine, type Engine, NODE_ENGINE } from '../src/engine.ts'

/** Both engines, whichever of them a process would choose here. */
export const engines: Engine[] = [createSodiumEngine(sodium), NODE_ENGINE]
