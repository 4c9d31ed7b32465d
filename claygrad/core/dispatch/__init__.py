"""What happens when an operation is called: arguments, promotion, the native form or the reference."""
