import type { ClusterFigures } from '../gateway/http/clusterMetrics.ts'

/** The state of a gateway that follows two partitions, and holds the first one. */
export const makeClusterFigures = (): ClusterFigures => ({
  isConnected: true,
  lostConnections: 2,
  repeatedMessages: 5,
  mirrorConflicts: 1,
  closedOff: [false, true],
  followed: [
    { partition: 0, position: 70, lag: 3, isHeld: true, differs: false },
    { partition: 1, position: undefined, lag: undefined, isHeld: false, differs: true },
  ],
  takeOvers: 4,
})
