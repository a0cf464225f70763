/** Version of the package. */
export const version = typeof __version__ === 'undefined' ? '0.0.0-source' : __version__
