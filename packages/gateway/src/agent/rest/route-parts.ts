/** Schemas that several routes share. */
import { Problem } from "@tendon/protocol";
import Type from "typebox";

/** What every route may answer with instead of its success. */
export const failures = { "4xx": Problem, "5xx": Problem };

export const DeviceParams = Type.Object({
  device: Type.String({ description: "The device's id (percent-encoded or not) or its alias" }),
});
