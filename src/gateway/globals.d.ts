/** The package's version, written in by the build; absent where the sources run as they are. */
declare const __version__: string | undefined
