// docs/reference/bench-report.schema.json: what `service bench` writes, for programs that read it.
import { z } from 'zod'
import { reportSchema } from '../../bench/report/report.ts'

export const renderBenchSchema = (): string =>
  `${JSON.stringify(z.toJSONSchema(reportSchema, { target: 'draft-2020-12' }), null, 2)}\n`
