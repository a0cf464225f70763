/** Version of the package, as the build wrote it in. */
export const version = typeof __version__ === 'undefined' ? '0.0.0-source' : __version__
