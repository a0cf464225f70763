/** Drawn by hand on a grid of 16. */
const Icon = ({ d }: { readonly d: string }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d={d} />
  </svg>
)

export const CloseIcon = () => <Icon d="M4 4l8 8M12 4l-8 8" />
export const MinimiseIcon = () => <Icon d="M3.5 12h9" />
export const MoveIcon = () => <Icon d="M6 4v.01M10 4v.01M6 8v.01M10 8v.01M6 12v.01M10 12v.01" />

export const Mark = () => (
  <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M2.6 12.4C6 12.4 5 8.6 8 8.6S10 3.6 13.2 3.6" />
    <circle class="one" cx="2.6" cy="12.4" r="2" />
    <circle class="two" cx="8" cy="8.4" r="2" />
    <circle class="three" cx="13.2" cy="3.6" r="2" />
  </svg>
)
