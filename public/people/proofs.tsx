import { number } from '../operator/numbers.ts'
import type { Proof } from './data.ts'

/** What was erased for this customer, newest first. The persons do not follow from it. */
export function Proofs({ proofs }: { readonly proofs: readonly Proof[] }) {
  return (
    <section class="card proofs" aria-labelledby="proofs-title">
      <h3 id="proofs-title">Erasures</h3>
      <p class="hint">
        What was removed and when. Whose data it was is not kept: write the number of the proof into
        your own record of the request.
      </p>
      {proofs.length === 0 ? (
        <p data-test="no-proofs">Nothing was erased yet.</p>
      ) : (
        <div class="scroll">
          <table data-test="proofs">
            <thead>
              <tr>
                <th scope="col">Proof</th>
                <th scope="col">Time (UTC)</th>
                <th scope="col">Events</th>
                <th scope="col">Devices</th>
                <th scope="col">In reports</th>
              </tr>
            </thead>
            <tbody>
              {proofs.map(({ proof, begun, ended, events, devices, counted }) => (
                <tr key={proof}>
                  <td>{proof}</td>
                  <td>
                    <time>{new Date(begun).toISOString().slice(0, 19).replace('T', ' ')}</time>
                    {ended === null && (
                      <span class="interrupted"> interrupted: erase this person again</span>
                    )}
                  </td>
                  <td>{number(events)}</td>
                  <td>{number(devices)}</td>
                  <td>{number(counted)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
