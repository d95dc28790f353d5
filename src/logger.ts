/** Where this package reports what no caller is told: pino, console and the like fit. */
export interface Logger {
  debug?(message: string): void;
  info?(message: string): void;
  warn(message: string): void;
}

/** Silent but for warnings. */
export const defaultLogger: Logger = {
  warn: (message) => console.warn(`clusterprofile-credentials: ${message}`),
};
