/** Loaded before a service (`node --import`). Shifts its wall clock by SVC_TEST_CLOCK_STEP_MS, like a machine whose clock is wrong. */
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
