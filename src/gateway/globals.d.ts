/** The package's version, which the build inserts. Undefined if the sources run without a build. */
declare const __version__: string | undefined
