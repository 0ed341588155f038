// The plot of docs/performance.md, from the report that its results cite.
import path from 'node:path'
import { renderPicture } from '../../bench/report/picture.ts'
import { readReport } from '../../bench/report/report.ts'
import { packageRoot } from '../../src/lib/paths.ts'

/** The report of the results on the first page. docs/performance.md must cite it. */
export const PERFORMANCE_REPORT = 'bench/results/service-bench-20261123T235139-fdde2b46341e.json'

export const renderPerformancePlot = (): string => renderPicture(readReport(path.join(packageRoot, PERFORMANCE_REPORT)))
