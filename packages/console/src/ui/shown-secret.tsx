/** A secret that is shown once, with a button to copy it. */
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { CodeBlock } from "./copy.tsx";

interface ShownSecretProps {
  readonly secret: string;
  readonly label: string;
  /** That it cannot be shown again. */
  readonly warning: string;
  readonly onClose: () => void;
}

export function ShownSecret({ secret, label, warning, onClose }: ShownSecretProps) {
  const { t } = useI18n();
  return (
    <div className="flex flex-col gap-4 p-5">
      <CodeBlock text={secret} label={label} />
      <p role="status" className="text-sm text-warn">
        {warning}
      </p>
      <div className="flex justify-end">
        <Button look="primary" onClick={onClose}>
          {t("action.done")}
        </Button>
      </div>
    </div>
  );
}
