import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

const openssl = "openssl";

/** A certificate for 127.0.0.1, or another name, and its key, as files that go with the test. */
export function selfSigned(name = "IP:127.0.0.1", days = 2): { readonly cert: string; readonly key: string } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-tls-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [path.join(folder, "cert.pem"), path.join(folder, "key.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", `/CN=${name.split(":")[1] ?? name}`, "-addext", `subjectAltName=${name}`];
  const made = ["-days", String(days), "-keyout", key, "-out", cert];
  execFileSync(openssl, ["req", "-x509", ...curve, ...subject, ...made], { stdio: "ignore" });
  return { cert, key };
}
