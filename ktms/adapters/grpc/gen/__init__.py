"""Generated from `proto/ktms/ledger/v1/ledger.proto` (`make proto`); never edited, held to it by a drift test."""
