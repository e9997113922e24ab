"""What keys do about incidents and remedies; each change asks first."""
