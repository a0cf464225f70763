import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Reports } from '../../../campaigns/report.ts'
import { Unavailable } from '../../../lib/unavailable.ts'
import { createSqliteReports } from '../../../sqlite/reports.ts'
import type { PartitionCopy } from '../partitionCopy.ts'
import type { StartTask } from '../task.ts'

/** The reports of the partitions that this process holds. */
export type ReportsTask = {
  readonly start: StartTask
  /** See Reports. Rejects with Unavailable if the partition is not held. */
  closeFigures(
    copy: PartitionCopy,
    customer: string,
    before: number,
    timeZone: string,
  ): Promise<void>
}

/**
 * Reports over the copy of a partition, in its reports.db.
 *
 * That file also has what closing has noted of devices, which only the process knows that has closed. So it is made
 * again from the copy if figures were closed by another follower meanwhile: `reports.db.closed` has a hash of the closed
 * times that the file knows.
 */
export function createReportsTask(): ReportsTask {
  const running = new Map<number, Reports>()

  const start: StartTask = async ({ copy, campaigns, isHeld, workerFile, onError }) => {
    const { partition, thread, eventsFile, reportsFile } = copy
    const markFile = `${reportsFile}.closed`

    const findMark = async (): Promise<string> =>
      createHash('sha256')
        .update(JSON.stringify(await thread.call('closedTimes')))
        .digest('hex')

    const mark = await findMark()
    if (!existsSync(markFile) || readFileSync(markFile, 'utf8') !== mark) {
      for (const end of ['', '-wal', '-shm']) rmSync(reportsFile + end, { force: true })
      writeFileSync(markFile, mark, { mode: 0o600 })
    }

    const reports = createSqliteReports({
      eventsFile,
      reportsFile,
      workerFile: new URL('./report-worker.js', workerFile),
      async writeClosed(closing) {
        if (!isHeld()) return false
        // A crash between the two lets the file be made again.
        const isClosed = await thread.call('closeFigures', closing)
        if (isClosed) writeFileSync(markFile, await findMark(), { mode: 0o600 })
        return isClosed
      },
      onEnd: (error) => onError(error, `the thread of the reports of partition ${partition}`),
    })
    running.set(partition, reports)

    let isStopped = false
    campaigns.firstEmail.then(() => {
      if (!isStopped) reports.follow()
    })

    return {
      answers: {
        readReport: reports.read,
        reportsLag: reports.lag,
      },
      async stop() {
        isStopped = true
        running.delete(partition)
        await reports.close()
      },
    }
  }

  return {
    start,
    async closeFigures({ partition }, customer, before, timeZone) {
      const reports = running.get(partition)
      if (!reports) throw new Unavailable('The partition has moved to another follower')
      await reports.closeFigures(customer, before, timeZone)
    },
  }
}
