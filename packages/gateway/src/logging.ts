import { destination, type Logger, pino } from "pino";

/** Logs go to stderr: as JSON, or as readable lines on a terminal. */
export async function createLogger(level: string): Promise<Logger> {
  if (!process.stderr.isTTY) return pino({ level, base: null }, destination({ fd: 2, sync: false }));
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: 2,
    sync: true,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss.l",
  });
  return pino({ level, base: null }, stream);
}
