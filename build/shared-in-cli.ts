/**
 * The modules that commands of the CLI share in one file. Not those in the folders of single commands: they import packages
 * that may not be installed.
 */
export const SHARED_IN_CLI = /\/src\/(output\/)?[^/]+\.ts$|oxc-project/
