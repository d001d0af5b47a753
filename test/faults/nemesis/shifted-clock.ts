/**
 * Loaded before a service (`node --import`): its wall clock is off by SVC_TEST_CLOCK_STEP_MS, as that of a machine that
 * was set wrong.
 */
const stepMs = Number(process.env.SVC_TEST_CLOCK_STEP_MS ?? 0)
const SystemDate = Date

class ShiftedDate extends SystemDate {
  constructor(...values: [] | [number | string | Date]) {
    if (values.length === 0) super(SystemDate.now() + stepMs)
    else super(...values)
  }

  static override now(): number {
    return SystemDate.now() + stepMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor
