/** Reads the payloads of commands; each function throws `arguments_invalid`. */
import { TendonError } from "../../errors.ts";

export const maxTextLength = 255;

function invalid(detail: string): TendonError {
  return new TendonError("arguments_invalid", detail);
}

export function numberOf(text: string, min: number, max: number, type: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw invalid("the payload is not a number");
  if (value < min || value > max) throw invalid(`the payload must be from ${min} to ${max}`);
  if (type !== "integer") return value;
  if (!Number.isInteger(value)) throw invalid("the payload must be a whole number");
  return value;
}

export function optionOf(text: string, options: readonly unknown[]): string {
  if (options.includes(text)) return text;
  throw invalid(`the payload must be one of: ${options.join(", ")}`);
}

export function booleanOf(text: string): boolean {
  if (text === "ON" || text === "OFF") return text === "ON";
  throw invalid("the payload must be ON or OFF");
}

export function textOf(text: string): string {
  if (text.length <= maxTextLength) return text;
  throw invalid(`the payload has more than ${maxTextLength} characters`);
}
